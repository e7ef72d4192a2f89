import { HttpServerResponse } from "effect/http"

/** JSON that PostgreSQL made, sent as it is. */
export const jsonAnswer = (
  text: string,
  options?: { readonly status?: number; readonly headers?: Record<string, string> }
) => HttpServerResponse.text(text, { ...options, contentType: "application/json; charset=utf-8" })
