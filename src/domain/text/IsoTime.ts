/** Another server's timestamp the way ours are: ISO 8601, UTC, milliseconds. What is none stays as it is. */
export const isoTime = <A extends string | null>(text: A): A | string => {
  const millis = text === null ? Number.NaN : Date.parse(text)
  return Number.isNaN(millis) ? text : new Date(millis).toISOString()
}
