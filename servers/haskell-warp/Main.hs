{-# LANGUAGE OverloadedStrings #-}

-- The techempower contract on Warp, postgresql-simple and Lucid: HOST PORT
module Main (main) where

import Control.Concurrent.MVar (MVar, modifyMVar, newMVar)
import Control.Monad (replicateM)
import Data.Aeson (ToJSON (..), object, pairs, (.=))
import qualified Data.Aeson as Aeson
import Data.ByteString (ByteString)
import qualified Data.ByteString.Char8 as Char8
import qualified Data.IntSet as IntSet
import Data.List (sortOn)
import Data.Pool (Pool, createPool, withResource)
import Data.String (fromString)
import Data.Text (Text)
import Data.Vector (Vector, (!))
import qualified Data.Vector as Vector
import Database.PostgreSQL.Simple
import Database.PostgreSQL.Simple.FromRow (FromRow (..), field)
import Database.PostgreSQL.Simple.Types (PGArray (..))
import Lucid
import Network.HTTP.Types (hContentType, ok200, status404)
import Network.Wai (Application, Request, Response, pathInfo, queryString, responseLBS)
import qualified Network.Wai.Handler.Warp as Warp
import System.Environment (getArgs, getEnv)
import System.Random (randomRIO)

data World = World {worldId :: !Int, randomNumber :: !Int}

instance FromRow World where
  fromRow = World <$> field <*> field

instance ToJSON World where
  toJSON world = object ["id" .= worldId world, "randomNumber" .= randomNumber world]
  toEncoding world = pairs ("id" .= worldId world <> "randomNumber" .= randomNumber world)

data Fortune = Fortune !Int !Text

instance FromRow Fortune where
  fromRow = Fortune <$> field <*> field

main :: IO ()
main = do
  [host, port] <- getArgs
  url <- getEnv "DATABASE_URL"
  connections <- read <$> getEnv "DATABASE_MAX_CONN"
  -- Connects when a connection is first needed; one that fails is thrown away.
  pool <- createPool (connectPostgreSQL (fromString url)) close 1 60 connections
  cached <- newMVar Nothing
  let settings = Warp.setHost (fromString host) (Warp.setPort (read port) Warp.defaultSettings)
  -- Warp sets Server and Date, and answers an exception with 500.
  Warp.runSettings settings (application pool cached)

application :: Pool Connection -> MVar (Maybe (Vector World)) -> Application
application pool cached request respond =
  respond =<< case pathInfo request of
    ["json"] -> pure (json (object ["message" .= ("Hello, World!" :: Text)]))
    ["plaintext"] -> pure (responseLBS ok200 [(hContentType, "text/plain")] "Hello, World!")
    ["db"] -> json <$> (randomId >>= withResource pool . selectWorld)
    ["queries"] -> do
      ids <- randomIds (number "queries" request)
      json <$> withResource pool (selectWorlds ids)
    ["fortunes"] -> page . fortunes <$> withResource pool selectFortunes
    ["updates"] -> do
      ids <- randomIds (number "queries" request)
      json <$> withResource pool (update ids)
    ["cached-queries"] -> do
      worlds <- cachedWorlds pool cached
      json <$> replicateM (number "count" request) ((worlds !) . subtract 1 <$> randomId)
    _ -> pure (responseLBS status404 [] "")

selectWorld :: Int -> Connection -> IO World
selectWorld wanted connection =
  head <$> query connection "SELECT id, randomnumber FROM world WHERE id = ?" (Only wanted)

-- Each row by a statement of its own.
selectWorlds :: [Int] -> Connection -> IO [World]
selectWorlds ids connection = mapM (`selectWorld` connection) ids

update :: [Int] -> Connection -> IO [World]
update ids connection = do
  old <- selectWorlds ids connection
  numbers <- mapM (const randomId) old
  -- The planner keeps the order of the arrays, so that rows are locked by ascending id.
  _ <-
    execute
      connection
      "UPDATE world SET randomnumber = new.number \
      \FROM unnest(?::int[], ?::int[]) AS new (id, number) WHERE world.id = new.id"
      (PGArray ids, PGArray numbers)
  pure (zipWith World ids numbers)

selectFortunes :: Connection -> IO [Fortune]
selectFortunes connection = query_ connection "SELECT id, message FROM fortune"

-- Read when they are first asked for.
cachedWorlds :: Pool Connection -> MVar (Maybe (Vector World)) -> IO (Vector World)
cachedWorlds pool cached = modifyMVar cached $ \have -> do
  worlds <- maybe (Vector.fromList <$> withResource pool readAll) pure have
  pure (Just worlds, worlds)
  where
    readAll connection = query_ connection "SELECT id, randomnumber FROM cachedworld"

fortunes :: [Fortune] -> Html ()
fortunes rows = do
  -- Lucid's own doctype has capital letters.
  toHtmlRaw ("<!DOCTYPE html>" :: Text)
  html_ $ do
    head_ (title_ "Fortunes")
    body_ . table_ $ do
      tr_ (th_ "id" <> th_ "message")
      mapM_ row (sortOn text (additional : rows))
  where
    additional = Fortune 0 "Additional fortune added at request time."
    text (Fortune _ message) = message
    row :: Fortune -> Html ()
    row (Fortune key message) = tr_ (td_ (toHtml (show key)) <> td_ (toHtml message))

json :: ToJSON a => a -> Response
json = responseLBS ok200 [(hContentType, "application/json")] . Aeson.encode

page :: Html () -> Response
page = responseLBS ok200 [(hContentType, "text/html; charset=utf-8")] . renderBS

-- The parameter within 1 and 500; 1 when it is not a number.
number :: ByteString -> Request -> Int
number name request = case lookup name (queryString request) of
  Just (Just text) | Just (n, "") <- Char8.readInt text -> max 1 (min 500 n)
  _ -> 1

randomId :: IO Int
randomId = randomRIO (1, 10000)

-- Distinct ones, ascending.
randomIds :: Int -> IO [Int]
randomIds count = go IntSet.empty
  where
    go ids
      | IntSet.size ids == count = pure (IntSet.toAscList ids)
      | otherwise = randomId >>= \new -> go (IntSet.insert new ids)
