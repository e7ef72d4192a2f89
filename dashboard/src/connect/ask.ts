import { apiErrorOf, NoResponse } from "../wire/ApiError.ts"

/** A request as a program outside of the browser makes it: with a key, without the session. */
export const withKey = async (
  path: string,
  headers: Readonly<Record<string, string>>,
  payload?: object
): Promise<unknown> => {
  const response = await fetch(path, {
    method: payload === undefined ? "GET" : "POST",
    credentials: "omit",
    headers: {
      ...headers,
      ...(payload === undefined
        ? {}
        : { "content-type": "application/json", accept: "application/json, text/event-stream" })
    },
    body: payload === undefined ? null : JSON.stringify(payload)
  }).catch((error: unknown) => {
    throw error instanceof TypeError ? new NoResponse("GET", error) : error
  })
  const text = await response.text()
  if (!response.ok) throw apiErrorOf(response, text)
  // MCP answers a message with one server-sent event.
  const event = /^data: (.+)$/m.exec(response.headers.get("content-type")?.startsWith("text/event-stream") ? text : "")
  return JSON.parse(event?.[1] ?? text) as unknown
}
