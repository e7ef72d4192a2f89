import { Cookies, HttpBody, HttpServerResponse } from "effect/http"

type Response = HttpServerResponse.HttpServerResponse
type MutableHeaders = Record<string, string>

/**
 * A response with headers that nothing else refers to, so that the middleware around it can add to them: every function of
 * HttpServerResponse copies them, one by one.
 */
class OwnedResponse {
  readonly status: number
  readonly statusText: string | undefined
  readonly headers: MutableHeaders
  readonly cookies = Cookies.empty
  readonly body: HttpBody.HttpBody

  constructor(status: number, statusText: string | undefined, headers: MutableHeaders, body: HttpBody.HttpBody) {
    this.status = status
    this.statusText = statusText
    this.headers = headers
    this.body = body
  }
}

Object.setPrototypeOf(OwnedResponse.prototype, Object.getPrototypeOf(HttpServerResponse.empty()))

interface TextOptions {
  readonly status?: number
  readonly statusText?: string | undefined
  /** Names are in lower case. The response keeps this object and changes it. */
  readonly headers?: MutableHeaders
  readonly contentType: string
}

/** Like HttpServerResponse.text. */
export const textResponse = (text: string, options: TextOptions): Response =>
  ownedResponse(HttpBody.text(text, options.contentType), options)

/** Like HttpServerResponse.uint8Array. */
export const bytesResponse = (bytes: Uint8Array, options: TextOptions): Response =>
  ownedResponse(HttpBody.uint8Array(bytes, options.contentType), options)

const ownedResponse = (body: HttpBody.Uint8Array, options: TextOptions): Response => {
  const { contentType, headers = {}, status = 200, statusText } = options
  headers["content-type"] = contentType
  headers["content-length"] = String(body.contentLength)
  return new OwnedResponse(status, statusText, headers, body) as object as Response
}

/** Like HttpServerResponse.setHeaders, but may change the response itself. */
export const withHeaders = (response: Response, headers: Readonly<MutableHeaders>): Response => {
  if (!(response instanceof OwnedResponse)) return HttpServerResponse.setHeaders(response, headers)
  Object.assign(response.headers, headers)
  return response
}

/** Adds headers of several lines each. Node writes a line for every value of a list, which effect/http passes on. */
export const withRepeated = (
  response: Response,
  headers: ReadonlyArray<readonly [name: string, values: ReadonlyArray<string>]>
): Response =>
  headers.length === 0
    ? response
    : HttpServerResponse.setHeaders(
        response,
        headers as ReadonlyArray<readonly [string, unknown]> as Iterable<[string, string]>
      )
