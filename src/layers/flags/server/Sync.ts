import { type ServiceImpl } from "@connectrpc/connect"
import { type FlagService, selected } from "./Service.ts"
import { type FlagSyncService, type SyncFlagsResponse } from "../gen/flagd/sync/v1/sync_pb.ts"

/** What a selector gets that names none of our environments. */
const noFlags = `{"flags":{}}`

/** How often a stream looks by itself whether it has told everything, in ms. */
const lookMillis = 20_000

/** flagd.sync.v1.FlagSyncService: whoever evaluates by itself gets one environment's flags, all of them each time. */
export const flagSync = (service: FlagService): ServiceImpl<typeof FlagSyncService> => ({
  syncFlags: ({ selector }, { requestHeader, signal }) =>
    snapshots(service, selected(service, requestHeader, selector), signal),
  fetchAllFlags: ({ selector }, { requestHeader }) => {
    const environment = selected(service, requestHeader, selector)
    return { flagConfiguration: configurationOf(service, environment) }
  },
  // Nothing is added to contexts here; older providers ask all the same.
  getMetadata: () => ({ metadata: {} })
})

type Selected = ReturnType<typeof selected>

const configurationOf = (service: FlagService, environment: Selected) =>
  environment === "none" ? noFlags : service.current(environment).configuration

/** The flags as they are, then as they are after each change: whoever reads slowly misses what was in between. */
async function* snapshots(
  service: FlagService,
  environment: Selected,
  signal: AbortSignal
): AsyncGenerator<Pick<SyncFlagsResponse, "flagConfiguration" | "syncContext">, void> {
  const follower = service.feed.follow(environment, signal)
  let told: string | undefined
  for (;;) {
    follower.check()
    const flagConfiguration = configurationOf(service, environment)
    if (flagConfiguration !== told) yield { flagConfiguration, syncContext: {} }
    told = flagConfiguration
    await follower.next(lookMillis)
  }
}
