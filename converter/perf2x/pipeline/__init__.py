"""Wire the stages: load, pass over samples, merge; the only room that knows them all."""
