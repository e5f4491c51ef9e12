"""Wire the stages: load, pass over samples, merge; the only package that knows them all."""
