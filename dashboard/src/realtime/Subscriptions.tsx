import { useQueryClient } from "@tanstack/react-query"
import { useState } from "react"
import { useWatchable } from "../catalogue/queries.ts"
import { follow, useSubscriptions } from "../catalogue/subscriptions.ts"
import { Button } from "../ui/Button.tsx"
import { Dialog } from "../ui/Dialog.tsx"
import { Skeleton } from "../ui/Empty.tsx"
import { Field, Switch } from "../ui/Field.tsx"
import { Problem } from "../ui/Problem.tsx"
import { call } from "../wire/call.ts"
import type { Wire } from "../wire/Wire.ts"

type Subscription = Wire["GET /api/realtime/subscriptions"]["success"][number]

/** Tables that are listed at most; typing narrows them down. */
const most = 200

/** Tables that a warning names. */
const mostNamed = 5

const words: Readonly<Record<Subscription["status"], string>> = {
  active: "",
  table_missing: "the table was dropped",
  table_renamed: "renamed",
  table_distributed: "distributed by Citus",
  trigger_missing: "its trigger is being made again",
  trigger_disabled: "its trigger is disabled in the database"
}

export const nameOf = ({ schema, table }: { readonly schema: string; readonly table: string }) =>
  schema === "public" ? table : `${schema}.${table}`

/** What the service warns of: tables whose events do not reach all clients. */
export const SubscriptionWarnings = ({ only }: { only: string }) => {
  const { data = [] } = useSubscriptions()
  const shown = data.filter((one) => only === "" || nameOf(one) === only)
  const groups = Array.from(Map.groupBy(shown, ({ warning }) => warning))
  return groups.map(([warning, all]) =>
    warning === null ? null : (
      <p key={warning} className="note" role="note">
        <b>{all.map(nameOf).slice(0, mostNamed).join(", ")}</b>
        {all.length > mostNamed ? ` and ${all.length - mostNamed} more` : ""}: {warning}
      </p>
    )
  )
}

/** Which tables publish their changes. */
export const Subscriptions = ({ onClose }: { onClose: () => void }) => {
  const client = useQueryClient()
  const subscriptions = useSubscriptions()
  const tables = useWatchable()
  const [search, setSearch] = useState("")
  const [failure, setFailure] = useState<unknown>()
  const [busy, setBusy] = useState<string>()
  const known = tables.data ?? []
  // Those whose table is gone can still be switched off.
  const gone = (subscriptions.data ?? [])
    .filter((one) => !known.some((table) => nameOf(table) === nameOf(one)))
    .map(({ schema, table }) => ({ schema, table, subscribed: true }))
  const found = [...gone, ...known].filter((table) => nameOf(table).toLowerCase().includes(search.toLowerCase().trim()))
  const change = async (table: { readonly schema: string; readonly table: string }, on: boolean) => {
    const payload = { schema: table.schema, table: table.table }
    setBusy(nameOf(table))
    setFailure(undefined)
    try {
      await (on ? follow(client, payload) : call("DELETE /api/realtime/subscribe", { payload }))
    } catch (error) {
      setFailure(error)
    }
    await client.invalidateQueries({ queryKey: ["realtime"] })
    setBusy(undefined)
  }
  return (
    <Dialog label="Tables that publish changes" onClose={onClose}>
      <div className="dialog-body">
        <h2>Tables that publish changes</h2>
        <p>
          Every insert, update and delete on them is sent to all clients that may read them. A trigger is created on the
          table for that.
        </p>
        {known.length > 8 ? <Field label="Search" value={search} onText={setSearch} autoComplete="off" /> : null}
        {tables.isLoadingError ? (
          <Problem error={tables.error} title="The tables could not be read" onRetry={() => void tables.refetch()} />
        ) : tables.isPending ? (
          <Skeleton lines={[60, 80, 40]} />
        ) : found.length === 0 ? (
          <p>{search === "" ? "The database has no tables yet." : "No table has this name."}</p>
        ) : (
          <ul className="subscriptions">
            {found.slice(0, most).map((table) => {
              const about = subscriptions.data?.find((one) => nameOf(one) === nameOf(table))
              return (
                <li key={JSON.stringify([table.schema, table.table])} aria-busy={busy === nameOf(table) || undefined}>
                  <Switch checked={table.subscribed} onChange={(on) => void change(table, on)}>
                    {nameOf(table)}
                  </Switch>
                  {about === undefined || about.status === "active" ? null : (
                    <span className="badge warn">
                      {words[about.status]} {about.renamed_to ?? ""}
                    </span>
                  )}
                  {about?.warning == null ? null : <p className="hint">{about.warning}</p>}
                </li>
              )
            })}
            {found.length > most ? <li className="hint">{found.length - most} more: search for them.</li> : null}
          </ul>
        )}
        {failure === undefined ? null : <Problem error={failure} title="The subscription was not changed" />}
        <footer>
          <Button kind="main" onClick={onClose}>
            Done
          </Button>
        </footer>
      </div>
    </Dialog>
  )
}
