import { useQueryClient } from "@tanstack/react-query"
import { useState } from "react"
import { Button } from "../../ui/Button.tsx"
import { Confirm } from "../../ui/Confirm.tsx"
import { moment } from "../../ui/format.ts"
import { List, type ListColumn } from "../../ui/List.tsx"
import { toast } from "../../ui/toast.ts"
import { When } from "../../ui/page/When.tsx"
import { call } from "../../wire/call.ts"
import { goToPlace, place } from "../../wire/place.ts"
import { Filling, useOutcome } from "../Filling.tsx"
import { type Branch, useBranches } from "../queries.ts"

const columnsOf = (drop: (branch: Branch) => void): ReadonlyArray<ListColumn<Branch>> => [
  {
    name: "Branch",
    cell: (branch) => (
      <span className="named">
        <b>{branch.label}</b>
        <code className="faint">{branch.id}</code>
        {branch.status === "active" ? null : <Filling branch={branch} />}
      </span>
    )
  },
  { name: "As of", cell: ({ objects_at }) => (objects_at === null ? "–" : moment(objects_at)) },
  { name: "Expires", cell: ({ expires_at }) => <When at={expires_at} /> },
  {
    name: "Actions",
    actions: true,
    cell: (branch) =>
      branch.status === "active" ? (
        <Button onClick={() => goToPlace({ ...place.here, branch: String(branch.id) })}>Work on it</Button>
      ) : (
        <Button onClick={() => drop(branch)}>Cancel</Button>
      )
  }
]

/** Branches that were restored to a time, and those that are being restored. */
export const Restores = () => {
  const client = useQueryClient()
  const { data } = useBranches()
  const [cancelled, setCancelled] = useState<Branch>()
  useOutcome(data)
  const restored = (data ?? []).filter(
    ({ objects_at, source_backup_id }) => objects_at !== null && source_backup_id === null
  )
  return restored.length === 0 ? null : (
    <section className="part" aria-label="Restored">
      <header>
        <h3>Restored</h3>
      </header>
      <List label="Restored branches" columns={columnsOf(setCancelled)} rows={restored} keyOf={({ id }) => id} />
      {cancelled === undefined ? null : (
        <Confirm
          title={`Cancel ${cancelled.label}?`}
          verb="Cancel restore"
          onClose={() => setCancelled(undefined)}
          run={async () => {
            await call("DELETE /api/branches/:id", { params: { id: cancelled.id } })
            toast("Restore cancelled")
            await client.invalidateQueries({ queryKey: ["branches"] })
          }}
        >
          <p>What has been restored so far is removed. It can be started again at any time.</p>
        </Confirm>
      )}
    </section>
  )
}
