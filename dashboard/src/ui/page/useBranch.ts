import { useQuery } from "@tanstack/react-query"
import { useSyncExternalStore } from "react"
import { branchState } from "../../wire/branch.ts"
import { call } from "../../wire/call.ts"
import { place } from "../../wire/place.ts"

export const branchesQuery = {
  queryKey: ["branches"],
  queryFn: ({ signal }: { readonly signal: AbortSignal }) => call("GET /api/branches/", { signal })
}

interface Worked {
  readonly id: string
  readonly label: string
  /** It was dropped or has expired. */
  readonly gone: boolean
}

/** Its label is kept by the tab, because the list no longer has it once it is gone. */
const labelName = (id: string) => `svc.branch.${id}`

/** The branch that this page is about, by its address; undefined: the main database. */
export const useBranch = (id = place.branch): Worked | undefined => {
  const refused = useSyncExternalStore(branchState.subscribe, branchState.isGone)
  const { data, isFetching } = useQuery({ ...branchesQuery, enabled: id !== undefined })
  if (id === undefined) return undefined
  const found = data?.find((one) => String(one.id) === id)
  if (found !== undefined) sessionStorage.setItem(labelName(id), found.label)
  const label = found?.label ?? sessionStorage.getItem(labelName(id)) ?? `branch ${id}`
  const unlisted = data !== undefined && found === undefined && !isFetching
  return { id, label, gone: (refused && id === place.branch) || unlisted }
}
