const maxLength = 100
const maxNames = 20

/** A text of a request as an error repeats it: at most 100 characters. */
export const shorten = (text: string) =>
  text.length > maxLength ? `${text.slice(0, maxLength).toWellFormed()}…` : text

/** Names of a request as an error lists them: at most 20. */
export const listed = (names: ReadonlyArray<string>) => {
  const shown = names.slice(0, maxNames).map(shorten).join(", ")
  return names.length > maxNames ? `${shown} and ${names.length - maxNames} more` : shown
}
