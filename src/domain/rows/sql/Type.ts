import { quoteName } from "../../sql/Names.ts"

/** Types whose names are part of SQL's grammar: quoted, they would be other types or none. */
const ofGrammar = new Set([
  "int",
  "integer",
  "smallint",
  "bigint",
  "real",
  "float",
  "double precision",
  "decimal",
  "dec",
  "numeric",
  "boolean",
  "bit",
  "bit varying",
  "char",
  "character",
  "character varying",
  "char varying",
  "varchar",
  "nchar",
  "national character",
  "national char",
  "national character varying",
  "national char varying",
  "time",
  "time with time zone",
  "time without time zone",
  "timestamp",
  "timestamp with time zone",
  "timestamp without time zone",
  "interval"
])

/** The type that a cast names, whatever it is: one that is not there is PostgreSQL's to refuse, and no syntax error. */
export const typeSql = (name: string) => {
  const folded = name.trim().replaceAll(/ +/g, " ").toLowerCase()
  return ofGrammar.has(folded) ? folded : quoteName(folded)
}
