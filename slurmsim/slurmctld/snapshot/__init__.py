"""The state of an engine as plain data, and an engine made of it again.

`engine_state` names what an engine always has and which of its attributes are state; `kinds` names the records these
hold; `graph` turns any of it into numbers, texts and lists, and back; `image` puts it together. What comes from the
configuration is no state: a snapshot is restored onto an engine newly made from it.
"""
