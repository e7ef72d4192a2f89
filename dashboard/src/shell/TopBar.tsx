import { useQuery } from "@tanstack/react-query"
import { Link, useLocation } from "@tanstack/react-router"
import { useEffect, useSyncExternalStore } from "react"
import { Button } from "../ui/Button.tsx"
import { Icon } from "../ui/Icon.tsx"
import { mod } from "../ui/keys.ts"
import { Menu, MenuItem, Popover } from "../ui/Popover.tsx"
import { useCrumbName } from "../ui/page/crumb.ts"
import { mayLeave } from "../ui/page/unsaved.ts"
import { branchesQuery, useBranch } from "../ui/page/useBranch.ts"
import { toastError, toastStore } from "../ui/toast.ts"
import { goToPlace, place } from "../wire/place.ts"
import { session } from "../wire/session.ts"
import { placeOf } from "./places.ts"
import { applyTheme, currentTheme, themeNames, themes } from "./theme.ts"

/** Where this is, as the page's heading: Tables › orders. */
const Crumbs = () => {
  const { pathname } = useLocation()
  const place = placeOf(pathname)
  const [, , ...rest] = pathname.split("/")
  const nameOf = useCrumbName()
  const parts = rest.filter((part) => part !== "").map((part) => nameOf(decodeURIComponent(part)))
  // The schema is named where it is not the usual one.
  const shown =
    ["/tables", "/policies", "/api"].includes(place?.to ?? "") && parts[0] === "public" ? parts.slice(1) : parts
  const title = place?.name ?? "Not found"
  useEffect(() => {
    document.title = `${[shown.at(-1), title].filter((part) => part !== undefined).join(" · ")} · Dashboard`
  })
  return (
    <div className="crumbs">
      <h1>
        {shown.length === 0 || place === undefined ? <span>{title}</span> : <Link to={place.to}>{title}</Link>}
        {shown.map((part) => (
          <span key={part} className="crumb">
            <Icon name="right" size={14} />
            <span>{part}</span>
          </span>
        ))}
      </h1>
    </div>
  )
}

/** Which database the pages under "Database" are about. */
const BranchSwitcher = () => {
  const current = useBranch()
  const all = useQuery(branchesQuery)
  const choose = (branch: string | undefined, close: () => void) => {
    close()
    if (branch !== current?.id) goToPlace({ ...place.here, branch })
  }
  return (
    <Popover icon="branch" label="Database branch" trigger={current?.label ?? "main"} align="end">
      {(close) => (
        <Menu>
          <p className="menu-head">Database</p>
          <MenuItem checked={current === undefined} onClick={() => choose(undefined, close)}>
            main
          </MenuItem>
          {all.data?.map((one) => (
            <MenuItem
              key={one.id}
              checked={current?.id === String(one.id)}
              onClick={() => choose(String(one.id), close)}
            >
              {one.label}
            </MenuItem>
          ))}
          {all.data?.length === 0 ? (
            <p className="menu-head">No branches: copies of the database to try things on.</p>
          ) : null}
        </Menu>
      )}
    </Popover>
  )
}

const signOut = async () => {
  if (!(await mayLeave())) return
  toastStore.clear()
  session.close().catch(toastError)
}

const SessionMenu = () => {
  const who = useSyncExternalStore(session.subscribe, session.author)
  return (
    <Popover icon="more" label="Theme and session" kind="quiet" align="end">
      {(close) => (
        <Menu>
          <p className="menu-head">Theme</p>
          {themes.map((theme) => (
            <MenuItem
              key={theme}
              checked={currentTheme() === theme}
              onClick={() => {
                applyTheme(theme)
                close()
              }}
            >
              {themeNames[theme]}
            </MenuItem>
          ))}
          <hr />
          <p className="menu-head">
            Signed in by {who?.type === "key" ? `key ${who.id}` : ""} {who?.label ?? ""}
          </p>
          <MenuItem
            icon="signout"
            onClick={() => {
              close()
              void signOut()
            }}
          >
            Sign out
          </MenuItem>
        </Menu>
      )}
    </Popover>
  )
}

export const TopBar = ({ onNavigation, onPalette }: { onNavigation: () => void; onPalette: () => void }) => (
  <header className="topbar">
    <span className="only-narrow">
      <Button kind="quiet" icon="menu" label="Navigation" onClick={onNavigation} />
    </span>
    <Link to="/tables" className="brand">
      <img src="/dashboard/icon.svg" alt="" />
      <span>svc</span>
    </Link>
    <Crumbs />
    <button
      type="button"
      className="ask"
      aria-keyshortcuts="Control+K Meta+K"
      aria-haspopup="dialog"
      onClick={onPalette}
    >
      <Icon name="search" size={15} />
      <span>Go to…</span>
      <kbd aria-hidden="true">{mod}K</kbd>
    </button>
    <BranchSwitcher />
    <SessionMenu />
  </header>
)
