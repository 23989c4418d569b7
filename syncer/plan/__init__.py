"""Plans: what makes one region hold what another picture holds, as reversible operations. Pure: no IO, no clock."""
