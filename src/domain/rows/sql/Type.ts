import { quoteName } from "../../sql/Names.ts"

/** Types whose names are keywords of SQL: quoted, they would mean other types or none. */
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

/** The type of a cast, whatever its name: PostgreSQL reports an unknown type, never a syntax error. */
export const typeSql = (name: string) => {
  const folded = name.trim().replaceAll(/ +/g, " ").toLowerCase()
  return ofGrammar.has(folded) ? folded : quoteName(folded)
}
