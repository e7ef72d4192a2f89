import { useQueryClient } from "@tanstack/react-query"
import { useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import { Button } from "../ui/Button.tsx"
import { Confirm } from "../ui/Confirm.tsx"
import { bytes, plural } from "../ui/format.ts"
import { Icon } from "../ui/Icon.tsx"
import { SecretOnce } from "../ui/SecretOnce.tsx"
import { toast } from "../ui/toast.ts"
import { call } from "../wire/call.ts"
import type { Backup } from "./queries.ts"
import { RestoreForm } from "./RestoreForm.tsx"

type Open =
  | { readonly tag: "cancel" | "delete" | "restore" }
  | { readonly tag: "connection"; readonly connection: string }

/** What can be done with a backup in its state. The browser downloads by its session's cookie, without a script. */
export const BackupActions = ({ backup }: { backup: Backup }) => {
  const client = useQueryClient()
  const navigate = useNavigate()
  const [open, setOpen] = useState<Open>()
  const close = () => setOpen(undefined)
  const read = () => client.invalidateQueries({ queryKey: ["backups"] })
  const { file_missing, id, label, size_bytes, status } = backup
  const params = { id }
  return (
    <>
      {status === "in_progress" ? <Button onClick={() => setOpen({ tag: "cancel" })}>Cancel</Button> : null}
      {status === "completed" && !file_missing ? (
        <>
          <Button onClick={() => setOpen({ tag: "restore" })}>Restore</Button>
          <a className="button quiet" href={`/api/backups/${id}/file`} download>
            <Icon name="download" /> <span>Download</span>
          </a>
        </>
      ) : null}
      {status === "in_progress" ? null : (
        <Button kind="quiet" onClick={() => setOpen({ tag: "delete" })}>
          Delete
        </Button>
      )}
      {open?.tag === "restore" ? (
        <RestoreForm
          backup={backup}
          onClose={close}
          onStarted={(connection) => {
            setOpen({ tag: "connection", connection })
            void read()
          }}
        />
      ) : null}
      {open?.tag === "connection" ? (
        <SecretOnce
          title="The restore has started"
          secret={open.connection}
          onClose={() => {
            close()
            void navigate({ to: "/backups/$backup", params: { backup: String(id) } })
          }}
        >
          The branch can be used once it is filled. This is the address for psql or an ORM; its password is shown only
          now.
        </SecretOnce>
      ) : null}
      {open?.tag === "cancel" ? (
        <Confirm
          title={`Cancel the backup ${label}?`}
          verb="Cancel backup"
          onClose={close}
          run={async () => {
            await call("POST /api/backups/:id/cancel", { params })
            toast("Backup cancelled")
            await read()
          }}
        >
          <p>What has been written so far is removed. Another backup can be started at any time.</p>
        </Confirm>
      ) : null}
      {open?.tag === "delete" ? (
        <Confirm
          title={`Delete the backup ${label}?`}
          verb="Delete backup"
          name={status === "completed" ? label : undefined}
          onClose={close}
          run={async () => {
            await call("DELETE /api/backups/:id", { params })
            toast("Backup deleted")
            await navigate({ to: "/backups" })
            client.removeQueries({ queryKey: ["backups", id] })
            await client.invalidateQueries({ queryKey: ["backups"], exact: true })
          }}
        >
          {status === "completed" ? (
            <p>
              The file ({bytes(size_bytes)}){backup.bucket === null ? "" : ` and its copy in ${backup.bucket}`} goes.
              Branches that were restored from it stay. This can&apos;t be undone.
            </p>
          ) : (
            <p>
              Its record goes; it has no file
              {backup.restores.length === 0 ? "" : `, but ${plural(backup.restores.length, "restore")}`}.
            </p>
          )}
        </Confirm>
      ) : null}
    </>
  )
}
