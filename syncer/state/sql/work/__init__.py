"""Work that people and programs ask for, in the database: operations, repairs, migrations, jobs; and notices."""
