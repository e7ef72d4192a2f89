import { notifyManager, type Query, useQueryClient } from "@tanstack/react-query"
import { useCallback, useEffect, useSyncExternalStore } from "react"
import { Notice } from "../ui/page/Notice.tsx"
import { ApiError } from "../wire/ApiError.ts"

/** ms after which what failed is read again. */
const pause = 5000

/** What is gone is the page's own matter, and so is what the session may not read. */
const isOld = ({ state: { data, error } }: Query) =>
  data !== undefined && error !== null && !(error instanceof ApiError && error.status < 429)

/** Says that what is in view may be old, because it could not be read again, and reads it until it can. */
export const Stale = () => {
  const client = useQueryClient()
  const cache = client.getQueryCache()
  const failed = useSyncExternalStore(
    useCallback((changed) => cache.subscribe(notifyManager.batchCalls(changed)), [cache]),
    () => cache.findAll({ type: "active" }).find(isOld)
  )
  const read = useCallback(() => void client.refetchQueries({ type: "active", predicate: isOld }), [client])
  useEffect(() => {
    if (failed === undefined) return
    const timer = setInterval(read, pause)
    return () => clearInterval(timer)
  }, [failed, read])
  return failed === undefined ? null : (
    <Notice title="What you see may be old" error={failed.state.error} onRetry={read} />
  )
}
