import importlib
import os

for name in filter(None, os.environ.get("OPS_MODULES", "").split(",")):
    importlib.import_module(name)
