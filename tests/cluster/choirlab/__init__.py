"""choirlab: a small cluster on one machine, from Linux namespaces. The command is ../choir-lab; docs/lab.md explains it."""
