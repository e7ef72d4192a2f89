"""What an app made for supabase-py does; prints what it got as one JSON object."""

import asyncio
import json
import os

from supabase import AsyncClientOptions, acreate_client

given = json.loads(os.environ["SVC_TEST_CLIENT"])
got = {}


async def client(token=None):
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    # Shared machines stall for longer than the client's defaults.
    options = AsyncClientOptions(headers=headers, storage_client_timeout=40, function_client_timeout=40)
    return await acreate_client(given["url"], given["anon"], options)


async def until(ready, what):
    for _ in range(1000):
        if ready():
            return
        await asyncio.sleep(0.02)
    raise TimeoutError(what)


async def joined(channel):
    states = []
    await channel.subscribe(lambda state, error: states.append(state.value))
    await until(lambda: "SUBSCRIBED" in states, "SUBSCRIBED")


async def rest(mine, nobody):
    table = mine.table("py_todos")
    made = await table.insert([{"id": 1, "title": "a"}, {"id": 2, "title": "b"}]).execute()
    got["inserted"] = made.data
    got["updated"] = (await table.update({"title": "c"}).eq("id", 2).execute()).data
    found = await table.select("title", count="exact").order("id", desc=True).limit(1).execute()
    got["selected"] = [found.data, found.count]
    got["hidden"] = (await nobody.table("py_todos").select("*").execute()).data
    got["rpc"] = (await mine.rpc("py_add", {"a": 2, "b": 3}).execute()).data
    try:
        await table.insert({"id": 1}).execute()
    except Exception as error:
        got["refused"] = error.code


async def storage(mine, nobody):
    files = mine.storage.from_("py")
    path = f"{given['user']}/notes/a.txt"
    await files.upload(path, b"hello", {"content-type": "text/plain"})
    got["downloaded"] = (await files.download(path)).decode()
    got["listed"] = [one["name"] for one in await files.list(f"{given['user']}/notes")]
    got["signed"] = "token=" in (await files.create_signed_url(path, 60))["signedURL"]
    try:
        await nobody.storage.from_("py").download(path)
    except Exception as error:
        got["unseen"] = error.code
    got["removed"] = [one["name"] for one in await files.remove([path])]


async def realtime(mine, nobody):
    changes, messages, system = [], [], []
    await mine.realtime.set_auth(given["token"])
    list_ = mine.channel("list")
    list_.on_postgres_changes("*", lambda change: changes.append(change["data"]), schema="public", table="py_todos")
    list_.on_system(system.append)
    await joined(list_)
    await until(lambda: system, "the subscription")
    await mine.table("py_todos").insert({"id": 3, "title": "live"}).execute()
    # Policies are asked about the row as it is then.
    await until(lambda: changes, "the new row")
    await mine.table("py_todos").delete().eq("id", 3).execute()
    await until(lambda: len(changes) == 2, "the changes")
    got["changes"] = [[one["type"], one.get("record"), one.get("old_record")] for one in changes]

    room, other = mine.channel("room"), nobody.channel("room")
    room.on_broadcast("hi", messages.append)
    present = []
    room.on_presence_sync(lambda: present.append(room.presence_state()))
    await joined(room)
    await joined(other)
    await other.send_broadcast("hi", {"text": "Grüße"})
    await until(lambda: messages, "the message")
    got["message"] = messages[0]["payload"]
    await room.track({"name": "Ann"})
    await until(lambda: any(len(state) == 1 for state in present), "the presence")
    got["present"] = [meta["name"] for metas in room.presence_state().values() for meta in metas]
    await mine.remove_all_channels()
    await nobody.remove_all_channels()


async def main():
    mine, nobody = await client(given["token"]), await client()
    await rest(mine, nobody)
    await storage(mine, nobody)
    answer = await mine.functions.invoke("echo", {"body": {"name": "Ann"}})
    got["function"] = json.loads(answer)
    await realtime(mine, nobody)
    print(json.dumps(got))


asyncio.run(main())
