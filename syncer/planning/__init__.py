"""Plans in practice: pictures read from stores and backups, plans kept in files, operations performed. The shell."""
