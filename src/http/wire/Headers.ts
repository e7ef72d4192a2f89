import { type HttpServerRequest } from "effect/http"
import { IncomingMessage } from "node:http"

export type Headers = Readonly<Record<string, string | undefined>>

/** The headers as Node has parsed them; the request's own are a copy, made when they are first read. */
export const headersOf = (request: HttpServerRequest.HttpServerRequest): Headers =>
  request.source instanceof IncomingMessage ? (request.source.headers as Headers) : request.headers
