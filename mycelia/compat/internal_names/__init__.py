"""The internal names of MindSpore that scripts import, made from Mycelia's own parts."""
