import { type NodeRequest, type NodeResponse } from "./Port.ts"

/** Response headers that browser clients of gRPC-Web, Connect and OFREP read. */
const exposed =
  "ETag, Retry-After, Content-Encoding, Connect-Content-Encoding, Grpc-Encoding, Grpc-Status, Grpc-Message, Grpc-Status-Details-Bin"

/** Sets the CORS headers; true if the request was a preflight, which it has answered. */
export type FlagCors = (request: NodeRequest, response: NodeResponse) => boolean

/** Allows pages of these origins, `*` for all, without credentials: these ports have none. */
export const flagCors = (origins: ReadonlyArray<string>): FlagCors => {
  const anyOrigin = origins.includes("*")
  return (request, response) => {
    const { origin } = request.headers
    if (origin === undefined || origins.length === 0) return false
    if (!anyOrigin) response.setHeader("vary", "Origin")
    const allowed = anyOrigin || origins.includes(origin)
    if (allowed) {
      response.setHeader("access-control-allow-origin", anyOrigin ? "*" : origin)
      response.setHeader("access-control-expose-headers", exposed)
    }
    if (request.method !== "OPTIONS" || request.headers["access-control-request-method"] === undefined) return false
    if (allowed) {
      response.setHeader("access-control-allow-methods", "POST")
      response.setHeader("access-control-allow-headers", request.headers["access-control-request-headers"] ?? "*")
      response.setHeader("access-control-max-age", "7200")
    }
    response.statusCode = 204
    response.end()
    return true
  }
}
