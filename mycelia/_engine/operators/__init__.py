"""The operator base class and what operators share: families, index checks, shardable axes."""
