"""Where the Beam components run: in this process, beside it, or on a cluster."""
