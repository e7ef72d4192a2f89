import { type JsonObject } from "@bufbuild/protobuf"
import { type FlagService, selected } from "./Service.ts"

/** How often a stream says that it is alive, in ms. */
const keepAliveMillis = 20_000

interface FlagEvent {
  readonly type: "provider_ready" | "configuration_change" | "keep_alive" | "provider_shutdown"
  readonly data: JsonObject
}

/** What happens from now on, until the signal aborts or the service ends: then it throws, UNAVAILABLE. */
export async function* eventStream(
  service: FlagService,
  headers: Headers,
  signal: AbortSignal
): AsyncGenerator<FlagEvent, void> {
  // Providers evaluate with their selector but listen without: they are told of every environment.
  const followed = headers.has("flagd-selector") ? selected(service, headers) : "all"
  const follower = service.feed.follow(followed, signal)
  yield { type: "provider_ready", data: {} }
  for (;;) {
    const changes = await follower.next(keepAliveMillis)
    if (follower.ended && !signal.aborted) yield { type: "provider_shutdown", data: {} }
    follower.check()
    if (changes === undefined) yield { type: "keep_alive", data: {} }
    else if (changes.size > 0) {
      const flags = Object.fromEntries(Array.from(changes, ([key, type]) => [key, { type }]))
      yield { type: "configuration_change", data: { flags } }
    }
  }
}
