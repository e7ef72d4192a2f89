import { type NodeRequest, type NodeResponse } from "./Port.ts"

/** What browser clients of gRPC-Web, Connect and OFREP read beside the body. */
const exposed =
  "ETag, Retry-After, Content-Encoding, Connect-Content-Encoding, Grpc-Encoding, Grpc-Status, Grpc-Message, Grpc-Status-Details-Bin"

/** Sets the headers for pages of other origins; true when it has answered, because a browser only asked first. */
export type FlagCors = (request: NodeRequest, response: NodeResponse) => boolean

/** Pages of these origins may call; `*` is all of them. No credentials: there are none on these ports. */
export const flagCors = (origins: ReadonlyArray<string>): FlagCors => {
  const everybody = origins.includes("*")
  return (request, response) => {
    const { origin } = request.headers
    if (origin === undefined || origins.length === 0) return false
    if (!everybody) response.setHeader("vary", "Origin")
    const allowed = everybody || origins.includes(origin)
    if (allowed) {
      response.setHeader("access-control-allow-origin", everybody ? "*" : origin)
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
