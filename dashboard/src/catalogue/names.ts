/** A name in SQL. */
export const quoteName = (name: string) => `"${name.replaceAll('"', '""')}"`

/** A name with its schema, in SQL. */
export const qualifiedName = ({ name, schema }: { readonly schema: string; readonly name: string }) =>
  `${quoteName(schema)}.${quoteName(name)}`

/** A text in SQL. A backslash is one in this form whatever `standard_conforming_strings` is. */
export const textLiteral = (text: string) => {
  const inside = text.replaceAll("'", "''")
  return inside.includes("\\") ? `E'${inside.replaceAll("\\", "\\\\")}'` : `'${inside}'`
}

/** PostgreSQL cuts longer names, and would then use, or find, another one. */
const mostBytes = 63

/** What is wrong with a name, of which `what` says whose it is. */
export const nameProblem = (name: string, what: string): string | undefined =>
  name.trim() === ""
    ? `${what} has no name`
    : new TextEncoder().encode(name).length > mostBytes
      ? `The name ${name} is longer than ${mostBytes} bytes`
      : name.includes("\0")
        ? `The name of ${what.toLowerCase()} has a character that PostgreSQL can't keep`
        : undefined

/**
 * What the user writes in SQL, such as a condition. A comment at its end would otherwise hide what follows it, such as the
 * parenthesis that closes it.
 */
export const writtenSql = (text: string) => (text.includes("--") ? `${text.trim()}\n` : text.trim())
