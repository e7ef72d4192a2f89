import "./protection.css"
import { useQueryClient } from "@tanstack/react-query"
import { type ReactNode, useState } from "react"
import { useSettings, valueOf } from "../../catalogue/settings.ts"
import { Button } from "../../ui/Button.tsx"
import { Skeleton } from "../../ui/Empty.tsx"
import { ago, bytes, moment, plural } from "../../ui/format.ts"
import { Icon } from "../../ui/Icon.tsx"
import { CopyRequest } from "../../ui/page/CopyRequest.tsx"
import { type Fact, Facts } from "../../ui/page/Facts.tsx"
import { MainOnly } from "../../ui/page/MainOnly.tsx"
import { When } from "../../ui/page/When.tsx"
import { Problem } from "../../ui/Problem.tsx"
import { SecretOnce } from "../../ui/SecretOnce.tsx"
import { Drills, RunDrill } from "./Drills.tsx"
import { Exposure } from "./Exposure.tsx"
import { type Exposed, exposedOf } from "./exposure.ts"
import { endsOf, lagOf, lengthOf, spansOf } from "./moments.ts"
import { type Drill, type Protection, useDrills, useProtection } from "./queries.ts"
import { useRecoveryKey } from "./RecoveryKey.tsx"
import { Restores } from "./Restores.tsx"
import { RestoreTo } from "./RestoreTo.tsx"
import { Timeline } from "./Timeline.tsx"

/** "the last 6 days", "the last minute". */
const lastOf = (seconds: number) => `the last ${lengthOf(seconds).replace(/^1 /, "")}`

/** What can be restored, in words. */
const restorable = ({ earliest, latest, spans }: Protection) => {
  const ends = endsOf(spansOf(spans))
  if (ends === undefined || earliest === null || latest === null) return undefined
  const what = spans.length === 1 ? "Any second of" : "Most of"
  return {
    title: `${what} ${lastOf((ends.to - ends.from) / 1000)} can be restored`,
    ends: `${moment(earliest)} to ${moment(latest)}`
  }
}

interface VerdictProps {
  readonly exposed: ReadonlyArray<Exposed>
  readonly state: Protection | null
}

/** The one sentence that the page is about: what is worst, or else what can be restored. */
const Verdict = ({ exposed, state }: VerdictProps) => {
  const worst = exposed[0]
  const can = state === null ? undefined : restorable(state)
  const open = exposed.filter(({ severity }) => severity !== "advice").length
  const kind = worst?.severity === "bad" ? "bad" : worst?.severity === "warn" ? "warn" : "good"
  const title = kind === "bad" ? worst?.title : (can?.title ?? worst?.title)
  return (
    <div className={`verdict ${kind}`}>
      <Icon name={kind === "good" ? "policy" : "alert"} size={22} />
      <div>
        <h3>{title}</h3>
        <p>
          {can === undefined ? "" : kind === "bad" ? `${can.title}, from ${can.ends}. ` : `From ${can.ends}. `}
          {open === 0 ? "" : `${plural(open, "thing")} below ${open === 1 ? "needs" : "need"} attention.`}
        </p>
      </div>
    </div>
  )
}

const factsOf = (state: Protection, drills: ReadonlyArray<Drill>): ReadonlyArray<Fact> => {
  const { archiving, base_backups, lag_seconds, limit_bytes, place, recovery_key, retained_bytes } = state
  const stored = base_backups.reduce((sum, { stored_bytes }) => sum + stored_bytes, 0)
  const last = base_backups.at(-1)
  const proven = drills.find(({ status }) => status === "passed")
  return [
    [
      "Behind now",
      lag_seconds === null ? "–" : archiving ? lagOf(lag_seconds) : `${lagOf(lag_seconds)}, not archiving`
    ],
    [
      "Base backups",
      last === undefined
        ? "none yet"
        : `${plural(base_backups.length, "base backup")}, ${bytes(stored)}; the last ${ago(last.completed_at)}`
    ],
    ["Kept for", lengthOf(state.keep_seconds)],
    ["Archive", <code key="place">{place}</code>],
    ["Log that waits", `${bytes(retained_bytes)}${limit_bytes === null ? "" : ` of at most ${bytes(limit_bytes)}`}`],
    [
      "Recovery key",
      recovery_key.kept_at === null ? (
        recovery_key.made ? (
          "made, not confirmed"
        ) : (
          "none"
        )
      ) : (
        <span key="kept">
          confirmed <When at={recovery_key.kept_at} />
        </span>
      )
    ],
    ...(proven === undefined
      ? []
      : [
          [
            "Last proven",
            <span key="proven">
              <When at={proven.finished_at ?? proven.started_at} />, restored in{" "}
              {proven.seconds === null ? "–" : lagOf(proven.seconds)}
            </span>
          ] as const
        ])
  ]
}

type Open =
  | { readonly tag: "restore"; readonly at: number | undefined }
  | { readonly tag: "secret"; readonly secret: string }

interface LoadedProps {
  readonly state: Protection | null
  readonly readAt: number
  /** Why it could not be read again, in place of what it says. */
  readonly failure: ReactNode
}

const Loaded = ({ failure, readAt, state }: LoadedProps) => {
  const client = useQueryClient()
  const settings = useSettings()
  const drills = useDrills(state !== null)
  const [open, setOpen] = useState<Open>()
  const close = () => setOpen(undefined)
  const spans = spansOf(state?.spans ?? [])
  const made = drills.data ?? []
  const scheduled = settings.data === undefined ? undefined : valueOf(settings.data, "SVC_BACKUP_CRON") !== ""
  const exposed = exposedOf({ state, scheduled, drills: drills.data })
  const kept = state?.recovery_key.kept_at ?? null
  const key = useRecoveryKey({ made: state?.recovery_key.made === true, kept: kept !== null })
  return (
    <div className="page protection">
      <div className="page-head">
        <h2>Protection</h2>
        <CopyRequest path="/api/backups/pitr" />
        {endsOf(spans) === undefined ? null : (
          <Button kind="main" icon="history" onClick={() => setOpen({ tag: "restore", at: undefined })}>
            Restore to a time
          </Button>
        )}
      </div>
      <MainOnly>Protection is always of the main database.</MainOnly>
      {failure ?? <Verdict state={state} exposed={exposed} />}
      {state === null || spans.length === 0 ? null : (
        <Timeline state={state} drills={made} now={readAt} onChoose={(at) => setOpen({ tag: "restore", at })} />
      )}
      {state === null ? null : <Facts facts={factsOf(state, made)} />}
      <Restores />
      <Exposure
        all={exposed}
        actions={{ key: key.buttons, drill: <RunDrill main running={made[0]?.status === "running"} /> }}
      />
      {drills.data == null ? null : <Drills drills={drills.data} />}
      {kept === null ? null : (
        <section className="part" aria-label="Recovery key">
          <header>
            <h3>Recovery key</h3>
            {key.buttons}
          </header>
          <p className="soft">
            Confirmed {moment(kept)}. With it and the archive alone, <code>npm run recover</code> makes the installation
            again on an empty machine.
          </p>
        </section>
      )}
      {key.dialogs}
      {open?.tag === "restore" ? (
        <RestoreTo
          spans={spans}
          initial={open.at}
          onClose={close}
          onStarted={(secret) => {
            setOpen({ tag: "secret", secret })
            void client.invalidateQueries({ queryKey: ["branches"] })
          }}
        />
      ) : null}
      {open?.tag === "secret" ? (
        <SecretOnce title="The restore has started" secret={open.secret} onClose={close}>
          The branch can be used once it is filled. This is the address for psql or an ORM; its password is shown only
          now.
        </SecretOnce>
      ) : null}
    </div>
  )
}

export const ProtectionPage = () => {
  const protection = useProtection()
  const failure = protection.isError ? (
    <Problem error={protection.error} title="The archive could not be read" onRetry={() => void protection.refetch()} />
  ) : undefined
  if (protection.data !== undefined) {
    return <Loaded state={protection.data} readAt={protection.dataUpdatedAt} failure={failure} />
  }
  return (
    <div className="page">
      <div className="page-head">
        <h2>Protection</h2>
      </div>
      {failure ?? <Skeleton lines={[60, 100, 100]} />}
    </div>
  )
}
