"""MindSpore's internal names that scripts import, implemented with Mycelia's API."""
