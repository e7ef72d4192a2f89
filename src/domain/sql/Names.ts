/** Values as a PostgreSQL array literal, each quoted. */
export const arrayLiteral = (values: ReadonlyArray<string>) =>
  `{${values.map((value) => `"${value.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`).join(",")}}`

/** A string literal of SQL, under `standard_conforming_strings` (the default). */
export const quoteLiteral = (text: string) => `'${text.replaceAll("'", "''")}'`

/** A quoted SQL identifier. */
export const quoteName = (name: string) => `"${name.includes('"') ? name.replaceAll('"', '""') : name}"`
