import { Option } from "effect"
import { type HttpServerRequest } from "effect/http"
import { type IdentitySettings } from "../../services/identity/Settings.ts"
import { headersOf } from "../wire/Headers.ts"

/** The address by which a client's attempts are counted and its requests take turns. */
export const clientAddress = (
  request: HttpServerRequest.HttpServerRequest,
  { addressOf }: Pick<IdentitySettings["Service"], "addressOf">
): string =>
  addressOf(
    Option.getOrElse(request.remoteAddress, () => ""),
    headersOf(request)["x-forwarded-for"]
  )
