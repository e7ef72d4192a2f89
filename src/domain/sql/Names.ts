/** Values as a PostgreSQL array literal, each quoted, so that any text stands for itself. */
export const arrayLiteral = (values: ReadonlyArray<string>) =>
  `{${values.map((value) => `"${value.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`).join(",")}}`

/** A string literal of SQL, under `standard_conforming_strings` (the default). */
export const quoteLiteral = (text: string) => `'${text.replaceAll("'", "''")}'`

/** An SQL identifier that means exactly this name. */
export const quoteName = (name: string) => `"${name.includes('"') ? name.replaceAll('"', '""') : name}"`
