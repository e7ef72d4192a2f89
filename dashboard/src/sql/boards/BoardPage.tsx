import "./boards.css"
import { useQuery, useQueryClient } from "@tanstack/react-query"
import { Link, useNavigate, useParams } from "@tanstack/react-router"
import { useRef } from "react"
import { Button } from "../../ui/Button.tsx"
import { Empty, Skeleton } from "../../ui/Empty.tsx"
import { Switch } from "../../ui/Field.tsx"
import { CopyRequest } from "../../ui/page/CopyRequest.tsx"
import { Gone } from "../../ui/page/Gone.tsx"
import { Menu, MenuItem, Popover } from "../../ui/Popover.tsx"
import { Problem } from "../../ui/Problem.tsx"
import { toastError, toastUndo } from "../../ui/toast.ts"
import { codeOf } from "../../wire/ApiError.ts"
import {
  type BoardContent,
  changeItem,
  type Item,
  itemsChanged,
  readItem,
  removeItem,
  useItems
} from "../../workspace/items.ts"
import { ChartPanel } from "./ChartPanel.tsx"

/** Charts of a board. */
const most = 24

const AddChart = ({ onAdd }: { onAdd: (query: number) => void }) => {
  const queries = useItems({ kind: "query" })
  return (
    <Popover icon="plus" label="Add a chart" trigger="Add chart" align="end">
      {(close) => (
        <Menu>
          <p className="menu-head" role="status">
            {queries.data === undefined
              ? "Reading…"
              : queries.data.length === 0
                ? "No query is saved yet: save one in the SQL workbench."
                : "Saved queries"}
          </p>
          {queries.data?.map(({ id, mine, name, owner }) => (
            <MenuItem
              key={id}
              note={mine ? undefined : owner.label}
              onClick={() => {
                close()
                onAdd(id)
              }}
            >
              {name}
            </MenuItem>
          ))}
        </Menu>
      )}
    </Popover>
  )
}

type Change = Parameters<typeof changeItem>[1]

const Board = ({ board, charts }: { board: Item; charts: BoardContent["charts"] }) => {
  const client = useQueryClient()
  const navigate = useNavigate()
  /** As the last change has made it; a change that follows at once is one of this. */
  const latest = useRef(board)
  const saving = useRef(Promise.resolve())
  if (board.revision > latest.current.revision) latest.current = board
  const save = (changeOf: (item: Item) => Change) => {
    saving.current = saving.current.then(async () => {
      try {
        latest.current = await changeItem(latest.current, changeOf(latest.current))
        client.setQueryData(["workspace", "item", board.id], latest.current)
      } catch (error) {
        toastError(error)
        await client.invalidateQueries({ queryKey: ["workspace", "item", board.id] })
      }
      await itemsChanged(client)
    })
  }
  const setCharts = (next: (charts: BoardContent["charts"]) => BoardContent["charts"]) =>
    save(({ content }) => ({ content: { charts: next("charts" in content ? content.charts : []) } }))
  const remove = async () => {
    const undo = await removeItem(board)
    toastUndo(
      `${board.name} removed`,
      () =>
        void undo()
          .catch(toastError)
          .finally(() => itemsChanged(client))
    )
    await itemsChanged(client)
    void navigate({ to: "/boards" })
  }
  const add =
    board.changeable && charts.length < most ? (
      <AddChart onAdd={(query) => setCharts((all) => [...all, { query, wide: false }])} />
    ) : null
  return (
    <div className="page board-page">
      <div className="page-head">
        <h2>{board.name}</h2>
        {board.mine ? null : <span className="badge">of {board.owner.label}</span>}
        <CopyRequest path={`/api/workspace/items/${board.id}`} />
        {board.changeable ? (
          <>
            <Switch checked={board.shared} onChange={(shared) => save(() => ({ shared }))}>
              Share with the team
            </Switch>
            <Button
              kind="quiet"
              icon="trash"
              label="Remove this board"
              onClick={() => void remove().catch(toastError)}
            />
          </>
        ) : null}
        <Button icon="refresh" onClick={() => void client.invalidateQueries({ queryKey: ["boards"] })}>
          Read again
        </Button>
        {charts.length === 0 ? null : add}
      </div>
      {charts.length === 0 ? (
        <Empty icon="board" title="No charts yet" action={add}>
          A chart is a saved query: what it shows is chosen in the SQL workbench, and saved with it.
        </Empty>
      ) : (
        <ol className="board">
          {charts.map(({ query, wide }, at) => (
            <li
              key={`${query} ${charts.slice(0, at).filter((one) => one.query === query).length}`}
              className={wide ? "wide" : ""}
            >
              <ChartPanel
                id={query}
                shared={board.shared}
                actions={
                  board.changeable
                    ? {
                        wide,
                        onWide: () => setCharts((all) => all.with(at, { query, wide: !wide })),
                        onEarlier:
                          at === 0
                            ? undefined
                            : () => setCharts((all) => all.toSpliced(at, 1).toSpliced(at - 1, 0, { query, wide })),
                        onLater:
                          at === charts.length - 1
                            ? undefined
                            : () => setCharts((all) => all.toSpliced(at, 1).toSpliced(at + 1, 0, { query, wide })),
                        onRemove: () => {
                          setCharts((all) => all.toSpliced(at, 1))
                        }
                      }
                    : undefined
                }
              />
            </li>
          ))}
        </ol>
      )}
    </div>
  )
}

/** The charts of a board. */
export const BoardPage = () => {
  const { board: given } = useParams({ strict: false }) as { readonly board?: string }
  const id = Number(given)
  const board = useQuery({
    queryKey: ["workspace", "item", id],
    queryFn: ({ signal }) => readItem(id, signal)
  })
  const all = (
    <Link to="/boards" className="button plain">
      All boards
    </Link>
  )
  if (board.isPending)
    return (
      <div className="page">
        <Skeleton lines={[40, 100, 100]} />
      </div>
    )
  if (board.data === undefined)
    return codeOf(board.error) === "WORKSPACE_ITEM_NOT_FOUND" || codeOf(board.error) === "INVALID_REQUEST" ? (
      <Gone icon="board" title="No such board">
        {all}
      </Gone>
    ) : (
      <div className="page">
        <Problem error={board.error} title="The board could not be read" onRetry={() => void board.refetch()} />
      </div>
    )
  return "charts" in board.data.content ? (
    <Board board={board.data} charts={board.data.content.charts} />
  ) : (
    <Gone icon="board" title="No such board">
      {all}
    </Gone>
  )
}
