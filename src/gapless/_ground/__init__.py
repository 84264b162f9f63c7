"""What all parts build on: the compiled core, threads, LAPACK, interrupts, validation, progress.

Import from each file directly: `from .._ground.threads import single_blas`. Nothing here knows a
loss, a problem or a model.
"""
