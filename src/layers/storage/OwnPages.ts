import { Effect } from "effect"
import { integer, url } from "../../domain/Settings.ts"
import { StartError } from "../process/StartError.ts"

const loopback = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/
const sameHost = (one: string, other: string) => one === other || (loopback.test(one) && loopback.test(other))

/** The port of the API as it is set; 0: any. */
export const apiPort = integer("PORT", 3000, 0, 65_535)

/**
 * Whether pages of an origin are the service's own, for a client that reaches the store at `host`: those of PUBLIC_URL and
 * DASHBOARD_URL. Without PUBLIC_URL, those of the same host on the port of the API.
 */
export const ownPages = Effect.fnUntraced(
  function* (port: number) {
    const known = yield* url("PUBLIC_URL")
    const dashboard = yield* url("DASHBOARD_URL")
    return (origin: string, host: string) => {
      if (origin === dashboard?.origin) return true
      if (known !== undefined) return origin === known.origin
      const [page, store] = [origin, `http://${host}`].map((url) => (URL.canParse(url) ? new URL(url) : undefined))
      if (page === undefined || store === undefined || page.origin !== origin) return false
      return page.port === String(port) && sameHost(page.hostname, store.hostname)
    }
  },
  Effect.mapError(({ message }) => new StartError({ message }))
)
