import { type InvalidateOptions, type InvalidateQueryFilters, type QueryKey, QueryClient } from "@tanstack/react-query"

/**
 * Queries whose answers are never older than the last change. The library alone lets a first request that is on its way,
 * or one that no page waits for any more, end as fresh although it was sent before the change.
 */
export class Queries extends QueryClient {
  override invalidateQueries<TTaggedQueryKey extends QueryKey = QueryKey>(
    filters?: InvalidateQueryFilters<TTaggedQueryKey>,
    options?: InvalidateOptions
  ): Promise<void> {
    const wanted = filters?.refetchType ?? "active"
    for (const query of this.getQueryCache().findAll({ ...filters, fetchStatus: "fetching" })) {
      // Those that are read again at once stay in progress for their pages.
      const again = wanted === "all" || (wanted === "active" && query.isActive())
      void query.cancel(again ? { silent: true } : { revert: true })
    }
    return super.invalidateQueries(filters, options)
  }
}
