import { useNavigate, useSearch } from "@tanstack/react-router"

/** Filters that change; undefined removes one. */
export type Changes<Filters> = { readonly [K in keyof Filters]: Filters[K] | undefined }

/** The filters of a list, which are the address of its page. */
export const useFilters = <Filters extends object>(to: "/history" | "/logs" | "/requests") => {
  const search = useSearch({ strict: false })
  const filters = search as Filters
  const navigate = useNavigate()
  const clear = () => void navigate({ to, search: {}, replace: true })
  const change = (changes: Changes<Filters>) => {
    const all = Object.entries({ ...filters, ...changes }).filter(([, value]) => value !== undefined)
    void navigate({ to, search: Object.fromEntries(all) as Record<string, string>, replace: true })
  }
  return { filters, change, clear }
}
