"""One program for many sizes: graphs padded to a larger size, with masks where padding counts."""
