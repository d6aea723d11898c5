"""Files: atomic writes, text and JSON, checksums, encryption, protobuf."""
