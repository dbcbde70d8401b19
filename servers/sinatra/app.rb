# frozen_string_literal: true

# The techempower contract on Sinatra, Sequel and ERB.
require 'erubi'
require 'json'
require 'sequel'
require 'set'
require 'sinatra/base'
require 'time'

class App < Sinatra::Base
  WORLDS = 10_000
  # Connects when a connection is first needed. Each thread uses at most one.
  DB = Sequel.connect(ENV.fetch('DATABASE_URL'), max_connections: Integer(ENV.fetch('THREADS')), test: false)

  SELECT = 'SELECT id, randomnumber AS "randomNumber" FROM'
  # The planner keeps the order of the arrays, so that rows are locked by ascending id.
  UPDATE = <<~SQL
    UPDATE world SET randomnumber = new.number
    FROM unnest(:ids::int[], :numbers::int[]) AS new (id, number) WHERE world.id = new.id
  SQL

  configure do
    set :erb, escape_html: true
    set :show_exceptions, false
  end

  # Puma leaves both to the application.
  before { headers 'Server' => 'Puma', 'Date' => Time.now.httpdate }

  helpers do
    # The parameter within 1 and 500; 1 when it is not a number.
    def number(name)
      params[name].to_i.clamp(1, 500)
    end

    def random_id
      rand(1..WORLDS)
    end

    def random_ids(count)
      ids = Set.new
      ids << random_id while ids.size < count
      ids.to_a
    end

    # Rows, each selected by a statement of its own, over one connection.
    def select(ids)
      DB.synchronize { ids.map { |id| DB["#{SELECT} world WHERE id = ?", id].first } }
    end

    def write(value)
      content_type :json
      value.to_json
    end

    # Filled when it is first asked for; a thread that comes at the same time fills it with the same.
    def cached
      @@cached ||= DB["#{SELECT} cachedworld"].all
    end
  end

  get('/json') { write(message: 'Hello, World!') }

  get '/plaintext' do
    content_type 'text/plain'
    'Hello, World!'
  end

  get('/db') { write(select([random_id]).first) }

  get('/queries') { write(select(random_ids(number('queries')))) }

  get '/fortunes' do
    @fortunes = DB['SELECT id, message FROM fortune'].all
    @fortunes << { id: 0, message: 'Additional fortune added at request time.' }
    @fortunes.sort_by! { |fortune| fortune[:message] }
    content_type :html, charset: 'utf-8'
    erb :fortunes
  end

  get '/updates' do
    rows = select(random_ids(number('queries')).sort)
    rows.each { |row| row[:randomNumber] = random_id }
    array = ->(column) { "{#{rows.map { |row| row[column] }.join(',')}}" }
    DB[UPDATE, ids: array[:id], numbers: array[:randomNumber]].update
    write(rows)
  end

  get('/cached-queries') { write(Array.new(number('count')) { cached.sample }) }
end
