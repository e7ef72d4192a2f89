import { branchHeaders } from "./place.ts"

/** A text as a word of a shell. */
export const quoted = (text: string) => `'${text.replaceAll("'", String.raw`'\''`)}'`

/** A request of the page as a command, with a variable in place of the key. Quoted, because paths hold what users typed. */
export const curlOf = (
  path: string,
  headers: Readonly<Record<string, string>> = {},
  credentials = '-H "apikey: $SERVICE_KEY"',
  /** Of a POST. */
  payload?: object
): string =>
  [
    "curl",
    credentials,
    ...Object.entries({ ...branchHeaders(path), ...headers }).map(
      ([name, value]) => `-H ${quoted(`${name}: ${value}`)}`
    ),
    ...(payload === undefined
      ? []
      : ["-H 'content-type: application/json'", `--data-raw ${quoted(JSON.stringify(payload))}`]),
    quoted(location.origin + path)
  ].join(" ")
