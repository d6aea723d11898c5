"""Pipeline parallelism: partition a step into stages, plan, schedule, and run them."""
