"""`vramfit submit-case`: a step on the GPU that is there, as a case of the league."""

from vramfit._submit._command import submit_case

__all__ = ["submit_case"]
