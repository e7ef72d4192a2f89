import { useQueryClient } from "@tanstack/react-query"
import { useState } from "react"
import { Button } from "../../ui/Button.tsx"
import { Empty, Skeleton } from "../../ui/Empty.tsx"
import { count, plural } from "../../ui/format.ts"
import { Segments } from "../../ui/page/Segments.tsx"
import { Problem } from "../../ui/Problem.tsx"
import { chosenOf, mayChoose, nothing, withDeletes, withKind, withRow } from "./choice.ts"
import { CopyDialog } from "./CopyDialog.tsx"
import {
  type ComparedName,
  comparisonsOf,
  type DifferencePage,
  type Kind,
  kinds,
  kindWords,
  useCounts,
  useDifferences
} from "./queries.ts"
import { RowTable } from "./RowTable.tsx"

const reasons: Readonly<Record<DifferencePage["not_compared"][number]["reason"], string>> = {
  only_in_branch: "is not in main",
  only_in_main: "is not in the branch",
  type: "has another type in the branch",
  generated: "is generated"
}

const NotCompared = ({ of }: { of: DifferencePage["not_compared"] }) =>
  of.length === 0 ? null : (
    <p className="note">
      Not compared, and not copied:{" "}
      {of.map(({ column, reason }, at) => (
        <span key={column}>
          {at === 0 ? "" : ", "}
          <code>{column}</code>, which {reasons[reason]}
        </span>
      ))}
      .
    </p>
  )

/** The differences of one table, and what to do with them. */
export const TableComparison = ({ label, of }: { of: ComparedName; label: string }) => {
  const client = useQueryClient()
  const [kind, setKind] = useState<Kind | "all">("all")
  const [choice, setChoice] = useState(nothing)
  const [copying, setCopying] = useState(false)
  const counts = useCounts(of)
  const found = useDifferences(of, kind === "all" ? undefined : kind)
  if (found.isPending) return <Skeleton lines={[100, 100, 100]} />
  const page = found.data?.pages[0]
  if (found.isLoadingError || page === undefined) {
    return <Problem error={found.error} title="The table could not be compared" onRetry={() => void found.refetch()} />
  }
  const rows = found.data?.pages.flatMap((one) => one.rows) ?? []
  const chosen = chosenOf(choice, counts.data)
  const sum = chosen.only_in_branch + chosen.changed + chosen.only_in_main
  const words = (one: Kind) =>
    counts.data === undefined ? kindWords[one] : `${kindWords[one]} ${count(counts.data[one].count)}`
  const empty = rows.length === 0 && !found.hasNextPage
  return (
    <>
      <NotCompared of={page.not_compared} />
      <div className="compare-bar">
        <Segments
          label="Differences to show"
          options={[["all", "All"], ...kinds.map((one) => [one, words(one)] as const)]}
          value={kind}
          onValue={setKind}
        />
        <label className="compare-delete">
          <input
            type="checkbox"
            checked={choice.deletes}
            onChange={({ target }) => setChoice(withDeletes(choice, target.checked))}
          />
          Allow deleting rows that are only in main
        </label>
      </div>
      {empty ? (
        <Empty icon="check" title={kind === "all" ? "No differences" : "None of these"}>
          {kind === "all"
            ? `All rows of ${of.table} are the same in ${label} and in main.`
            : "Other rows of the table may differ."}
        </Empty>
      ) : (
        <>
          <RowTable page={page} rows={rows} choice={choice} onRow={(row) => setChoice(withRow(choice, row, rows))} />
          {found.hasNextPage ? (
            <p className="list-foot">
              <Button busy={found.isFetchingNextPage} onClick={() => void found.fetchNextPage()}>
                Show more
              </Button>
            </p>
          ) : null}
          {found.isFetchNextPageError ? <Problem error={found.error} title="The next rows could not be read" /> : null}
        </>
      )}
      {empty && sum === 0 ? null : (
        <div className="compare-foot" role="group" aria-label="What to copy">
          <span aria-live="polite">
            {sum === 0 ? "Choose rows, or all of a kind:" : `${plural(sum, "row")} chosen`}
          </span>
          {kinds.map((one) =>
            counts.data === undefined || counts.data[one].count === 0 || !mayChoose(choice, one) ? null : (
              <button
                key={one}
                type="button"
                className="button"
                aria-pressed={choice.all.has(one)}
                onClick={() => setChoice(withKind(choice, one))}
              >
                All {count(counts.data[one].count)} {kindWords[one].toLowerCase()}
              </button>
            )
          )}
          <Button kind="main" disabled={sum === 0} onClick={() => setCopying(true)}>
            Copy to main…
          </Button>
        </div>
      )}
      {copying ? (
        <CopyDialog
          of={of}
          choice={choice}
          counts={counts.data}
          chosen={chosen}
          onClose={() => setCopying(false)}
          onCopied={() => {
            setChoice(nothing)
            void client.invalidateQueries({ queryKey: comparisonsOf(of.branch) })
          }}
        />
      ) : null}
    </>
  )
}
