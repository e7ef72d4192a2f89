const maxNames = 20

/** A text of a request as an error repeats it: at most `length` characters. */
export const shorten = (text: string, length = 100) =>
  text.length > length ? `${text.slice(0, length).toWellFormed()}…` : text

/** Names of a request as an error lists them: at most 20. */
export const listed = (names: ReadonlyArray<string>) => {
  const shown = names
    .slice(0, maxNames)
    .map((name) => shorten(name))
    .join(", ")
  return names.length > maxNames ? `${shown} and ${names.length - maxNames} more` : shown
}
