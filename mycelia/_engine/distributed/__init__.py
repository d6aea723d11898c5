"""Descriptions of distributed training: meshes, layouts, clusters, settings, plans."""
