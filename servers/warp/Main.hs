{-# LANGUAGE OverloadedStrings #-}

-- | Serves the files of a folder with Warp.
module Main (main) where

import qualified Data.Text as T
import Network.HTTP.Types (hContentType, notFound404, ok200)
import Network.Socket
import Network.Wai
import Network.Wai.Handler.Warp
import System.Environment (getArgs)
import System.Exit (die)
import System.FilePath (joinPath, takeExtension, (</>))

main :: IO ()
main = do
  args <- getArgs
  case args of
    [host, port, docroot] -> do
      listener <- listenOn host port
      runSettingsSocket settings listener $ files docroot
    _ -> die "usage: server HOST PORT DOCROOT"

-- | Descriptors and facts of files are kept for 10 seconds, idle connections for an hour.
settings :: Settings
settings =
  setFdCacheDuration 10 $ setFileInfoCacheDuration 10 $ setTimeout 3600 defaultSettings

-- | Warp itself sets TCP_NODELAY.
listenOn :: HostName -> ServiceName -> IO Socket
listenOn host port = do
  let numeric = defaultHints {addrFlags = [AI_NUMERICHOST], addrSocketType = Stream}
  address <- head <$> getAddrInfo (Just numeric) (Just host) (Just port)
  listener <- openSocket address
  setSocketOption listener ReuseAddr 1
  bind listener $ addrAddress address
  listen listener 4096
  return listener

-- | Warp answers 404 for a file that is not there.
files :: FilePath -> Application
files docroot request respond = respond $ case pathInfo request of
  [] -> file "index.html"
  segments
    | all isName segments -> file $ joinPath $ map T.unpack segments
    | otherwise -> responseLBS notFound404 [(hContentType, "text/plain")] "not found"
  where
    file path = responseFile ok200 [(hContentType, mediaType path)] (docroot </> path) Nothing
    mediaType path = case takeExtension path of
      ".html" -> "text/html"
      _ -> "application/octet-stream"

-- | A name inside a folder; what comes from a decoded path may be anything.
isName :: T.Text -> Bool
isName segment = segment `notElem` ["", ".", ".."] && T.all (`notElem` ['/', '\0']) segment
