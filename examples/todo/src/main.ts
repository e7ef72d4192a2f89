import { createClient, type RealtimeChannel, type User } from "@supabase/supabase-js"
import { key, url } from "./constants.ts"

interface Todo {
  readonly id: number
  readonly title: string
  readonly done: boolean
}

interface Profile {
  readonly name: string
  readonly avatar: string | null
}

const supabase = createClient(url, key)

const element = <E extends HTMLElement>(id: string) => {
  const found = document.getElementById(id)
  if (found === null) throw new Error(`index.html has no #${id}`)
  return found as E
}
const [signIn, list, add, todoList] = [
  element<HTMLFormElement>("sign-in"),
  element("list"),
  element<HTMLFormElement>("add"),
  element<HTMLUListElement>("todos")
]
const avatar = element<HTMLImageElement>("avatar")
const upload = element<HTMLInputElement>("upload")

const show = (problem: { readonly message: string } | null, note = "") => {
  element("error").textContent = problem?.message ?? ""
  element("note").textContent = problem === null ? note : ""
  return problem === null
}

// The list: read once, then kept by the changes of this user's rows, from any of the user's devices.
const todos = new Map<number, Todo>()

const renderTodos = () => {
  const items = [...todos.values()].map((todo) => {
    const item = document.createElement("li")
    const label = document.createElement("label")
    const box = Object.assign(document.createElement("input"), { type: "checkbox", checked: todo.done })
    const title = Object.assign(document.createElement("span"), { textContent: todo.title })
    const remove = Object.assign(document.createElement("button"), { textContent: "Delete" })
    remove.setAttribute("aria-label", `Delete ${todo.title}`)
    box.addEventListener("change", async () =>
      show((await table().update({ done: box.checked }).eq("id", todo.id)).error)
    )
    remove.addEventListener("click", async () => show((await table().delete().eq("id", todo.id)).error))
    label.append(box, title)
    item.append(label, remove)
    return item
  })
  todoList.replaceChildren(...items)
}

const table = () => supabase.from("todos")

const readTodos = async () => {
  const { data, error } = await table().select("id, title, done").order("id").returns<Array<Todo>>()
  if (!show(error)) return
  todos.clear()
  for (const todo of data ?? []) todos.set(todo.id, todo)
  renderTodos()
}

const watchTodos = (user: User) =>
  supabase
    .channel(`todos of ${user.id}`)
    .on<Todo>("postgres_changes", { event: "*", schema: "public", table: "todos" }, (change) => {
      if (change.eventType === "DELETE") todos.delete(Number(change.old.id))
      else todos.set(change.new.id, change.new)
      renderTodos()
    })
    // Changes before the subscription are not sent, so the list is read once it exists, and again after an interruption.
    .subscribe((status) => {
      if (status === "SUBSCRIBED") void readTodos()
    })

// Who else has the page open.
const watchOnline = (user: User, name: string) => {
  const channel = supabase.channel("online", { config: { presence: { key: user.id } } })
  return channel
    .on("presence", { event: "sync" }, () => {
      const names = Object.values(channel.presenceState<{ readonly name: string }>()).map(([first]) => first?.name)
      element("online").textContent = `Online: ${names.toSorted().join(", ")}`
    })
    .subscribe((status) => {
      if (status === "SUBSCRIBED") void channel.track({ name })
    })
}

const showAvatar = (path: string | null) => {
  avatar.hidden = path === null
  if (path !== null) avatar.src = supabase.storage.from("avatars").getPublicUrl(path).data.publicUrl
}

let channels: ReadonlyArray<RealtimeChannel> = []

const enter = async (user: User) => {
  const { data, error } = await supabase.from("profiles").select("name, avatar").eq("id", user.id).single<Profile>()
  if (!show(error) || data === null) return
  element("name").textContent = data.name
  showAvatar(data.avatar)
  signIn.hidden = true
  list.hidden = false
  channels = [watchTodos(user), watchOnline(user, data.name)]
}

const leave = async () => {
  await Promise.all(channels.map((channel) => supabase.removeChannel(channel)))
  channels = []
  todos.clear()
  renderTodos()
  signIn.hidden = false
  list.hidden = true
}

let userId: string | undefined
supabase.auth.onAuthStateChange((_, session) => {
  if (session?.user.id === userId) return
  userId = session?.user.id
  // Not in the callback itself: it holds the client's lock, which other calls wait for.
  setTimeout(() => void (session === null ? leave() : enter(session.user)))
})

signIn.addEventListener("submit", async (event) => {
  event.preventDefault()
  const form = new FormData(signIn)
  const [name, email, password] = ["name", "email", "password"].map((field) => String(form.get(field)))
  const credentials = { email: email ?? "", password: password ?? "" }
  const isNew = event.submitter instanceof HTMLButtonElement && event.submitter.value === "up"
  const { data, error } = isNew
    ? await supabase.auth.signUp({ ...credentials, options: { data: name === "" ? {} : { name } } })
    : await supabase.auth.signInWithPassword(credentials)
  // A project that confirms addresses has no session before.
  const unconfirmed = data.session === null
  if (show(error, unconfirmed ? "Open the link in the e-mail that you have got." : "")) signIn.reset()
})

element("sign-out").addEventListener("click", async () => show((await supabase.auth.signOut()).error))

add.addEventListener("submit", async (event) => {
  event.preventDefault()
  const { error } = await table().insert({ title: new FormData(add).get("title") })
  if (show(error)) add.reset()
})

upload.addEventListener("change", async () => {
  const file = upload.files?.[0]
  if (file === undefined || userId === undefined) return
  // A name of its own for each upload, so that no cache has the one before.
  const path = `${userId}/${Date.now()}`
  const stored = await supabase.storage.from("avatars").upload(path, file, { contentType: file.type })
  if (!show(stored.error)) return
  const { error } = await supabase.from("profiles").update({ avatar: path }).eq("id", userId)
  if (show(error)) showAvatar(path)
})
