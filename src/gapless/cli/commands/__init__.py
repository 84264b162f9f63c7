"""The commands, one file each: HELP, add_arguments(parser) and run(args, printer) → exit code."""
